// A stream of random numbers: sfc32, 128 bits of state, the same numbers on every machine.
import { derive } from "seeds.mjs";

// Returns a function that gives the next 32 bits as a number below 2^32. It stands alone, because its text is also
// put into the bots' realms, where it drives Math.random.
export function stream(a, b, c, d) {
  return function next() {
    const value = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + value) | 0;
    return value >>> 0;
  };
}

// The four 32-bit words that start the stream named by the key.
export function words(seed, ...key) {
  const high = derive(seed, ...key, 0);
  const low = derive(seed, ...key, 1);
  return [high >> 32n, high, low >> 32n, low].map((word) => Number(BigInt.asIntN(32, word)));
}
