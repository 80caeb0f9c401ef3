const { LeaseClient } = require("leasehold");
const { story } = require("./story.js");

if (typeof LeaseClient !== "function") throw new Error("no LeaseClient");
story().then(console.log);
