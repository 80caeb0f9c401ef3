import { http } from "leasehold/http";
import { story } from "./story.js";

story(http({ url: location.origin, token: "a-token-for-the-page" })).then(show, (error) =>
  show(error.stack),
);

function show(text) {
  document.body.textContent = text;
}
