"use client";

import { useEffect, useState } from "react";
import { story } from "../story.js";

export default function Page() {
  const [told, tell] = useState("");
  useEffect(() => {
    story().then(tell, (error) => tell(error.stack));
  }, []);
  return told;
}
