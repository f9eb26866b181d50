// Seeds in JavaScript: the same numbers as simfarm/core/seeds.py, which explains them. All are BigInt, 64 bits.

const MASK = (1n << 64n) - 1n;
const GOLDEN = 0x9e3779b97f4a7c15n;

export function mix(value) {
  value &= MASK;
  value = ((value ^ (value >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  value = ((value ^ (value >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return value ^ (value >> 31n);
}

export function fold(text) {
  let value = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text, "utf8")) value = ((value ^ BigInt(byte)) * 0x100000001b3n) & MASK;
  return value;
}

// The key's parts are texts, BigInts or whole Numbers.
export function derive(seed, ...key) {
  let value = mix(BigInt(seed) + GOLDEN);
  for (const part of key) {
    const number = typeof part === "string" ? fold(part) : BigInt(part);
    value = mix((value ^ mix(number + GOLDEN)) + GOLDEN);
  }
  return value;
}
