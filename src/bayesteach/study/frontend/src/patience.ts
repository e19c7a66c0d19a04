import { Passing } from "./server";

const FIRST = 500;
const LONGEST = 15_000;

/** Tries until it works: again after half a second, one, two … 15, each jittered, and at once when the network returns. */
export async function untilItWorks<T>(attempt: () => Promise<T>, worked: (yes: boolean) => void): Promise<T> {
  for (let wait = FIRST; ; wait = Math.min(2 * wait, LONGEST)) {
    try {
      const result = await attempt();
      worked(true);
      return result;
    } catch (error) {
      if (!(error instanceof Passing)) throw error;
      worked(false);
      await pauseOrNetwork(wait * (0.5 + Math.random()));
    }
  }
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function pauseOrNetwork(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      clearTimeout(timer);
      removeEventListener("online", go);
      resolve();
    };
    const timer = setTimeout(go, milliseconds);
    addEventListener("online", go);
  });
}
