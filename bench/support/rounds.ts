/**
 * Runs the contenders in turns and gives each one's rounds. The machine's moods come and go over
 * seconds, so all of them meet the same ones; who goes first changes from round to round.
 */
export async function alternate<Round>(
  rounds: number,
  contenders: Record<string, () => Promise<Round>>,
): Promise<Map<string, Round[]>> {
  const names = Object.keys(contenders);
  const results = new Map(names.map((name): [string, Round[]] => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(turn + round) % names.length] ?? "";
      const run = contenders[name];
      if (run !== undefined) results.get(name)?.push(await run());
    }
  }
  return results;
}

/** The rounds of one contender. */
export function roundsOf<Round>(results: Map<string, Round[]>, name: string): Round[] {
  return results.get(name) ?? [];
}
