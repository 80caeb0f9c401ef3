import { story } from "./story.js";

story().then(
  (told) => show(told),
  (error) => show(error.stack),
);

function show(text) {
  document.body.textContent = text;
}
