import { story } from "./story.js";

story().then(console.log);
