import { story } from "../../story.js";

export const dynamic = "force-dynamic";

export async function GET() {
  return new Response(await story());
}
