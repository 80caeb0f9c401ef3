import { story } from "../../story.js";

export const runtime = "edge";

export async function GET() {
  return new Response(await story());
}
