// The referee's process: reads requests from standard input, plays, and writes frames to standard output.
//
// A request is a 4-byte length and a JSON object, a frame a letter, a 4-byte length and that many bytes (numbers are
// little-endian). All of it is synchronous: control never goes back to the event loop, so that no promise, timer or
// finaliser of a bot ever runs.
//
//   H  a game goes on: the number of the game. Written now and then, so that silence means that a bot does not return.
//   C  from the first watched game on, before each call of a bot, as JSON: the bot's position, the door, what it is
//      asked, its last answer, and how many bytes each bot keeps.
//   F  the position of the bot that filled the heap; the process then ends.
//   L  lines of the log.
//   B  a block's rows: see `sendBlock`.
//   P  1 if the process should not be used further, else 0; then what is wrong with a bot's file: text, empty for nothing.
import { readSync, writeSync } from "node:fs";
import vm from "node:vm";
import { Block } from "blocks.mjs";
import { fuller, realms } from "heap.mjs";
import { Rows } from "records.mjs";
import { openSeat } from "seats.mjs";

const HEARTBEAT_MS = 50;
const LOG_BYTES = 65536;
const EXIT_MEMORY = 70;
// Node never frees a realm of about 1.5 MB, so the process is replaced when it has opened that many.
const MAX_REALMS = 64;
const WIDTHS = { games: 25, sets: 12, rounds: 15 };

function readExactly(size) {
  const buffer = Buffer.allocUnsafe(size);
  let filled = 0;
  while (filled < size) {
    const count = readSync(0, buffer, filled, size - filled, null);
    if (count === 0) return null;
    filled += count;
  }
  return buffer;
}

function send(letter, ...parts) {
  const head = Buffer.allocUnsafe(5);
  head.write(letter, 0, "latin1");
  head.writeUInt32LE(parts.reduce((sum, part) => sum + part.length, 0), 1);
  for (const part of [head, ...parts]) {
    for (let done = 0; done < part.length; ) done += writeSync(1, part, done);
  }
}

function numbers(...values) {
  return Buffer.from(Uint32Array.from(values).buffer);
}

function newHost(task) {
  let lines = [];
  let size = 0;
  let game = 0;
  let beat = 0;
  const flush = () => {
    if (size > 0) send("L", Buffer.from(lines.join("\n") + "\n"));
    lines = [];
    size = 0;
  };
  return {
    flush,
    gameStarts(number) {
      game = number;
      beat = performance.now();
      send("H", numbers(game));
    },
    beat(time) {
      if (time - beat < HEARTBEAT_MS) return;
      beat = time;
      send("H", numbers(game));
    },
    watches: () => task.watch !== null && game >= task.watch,
    calls(call) {
      flush();
      send("C", Buffer.from(JSON.stringify(call)));
    },
    heapFull(position) {
      if (position !== null) send("F", numbers(position));
      process.exit(EXIT_MEMORY);
    },
    print: task.log
      ? (line) => {
          lines.push(line);
          size += line.length;
          if (size > LOG_BYTES) flush();
        }
      : null,
  };
}

function play(task) {
  const host = newHost(task);
  const out = {
    games: new Rows(WIDTHS.games),
    sets: new Rows(WIDTHS.sets),
    rounds: task.rounds ? new Rows(WIDTHS.rounds) : null,
    details: [],
  };
  for (let block = task.start; block < task.stop; block++) {
    new Block(task, block, out, host).play();
    host.flush();
    const spent = isSpent(task);
    sendBlock(out, spent);
    if (spent) return;
  }
}

function isSpent({ heap_bytes }) {
  return realms() >= MAX_REALMS || fuller(0.75 * heap_bytes);
}

// Five numbers (rows of games, sets and rounds, bytes of the details, 1 if the process should not be used further),
// then the rows as 32-bit integers, then the details as JSON: lists of row of games, text, and of a fault its evidence.
function sendBlock(out, spent) {
  const details = Buffer.from(JSON.stringify(out.details));
  const counts = [out.games.count, out.sets.count, out.rounds?.count ?? 0, details.length, spent ? 1 : 0];
  send("B", numbers(...counts), out.games.take(), out.sets.take(), out.rounds?.take() ?? Buffer.alloc(0), details);
  out.details.length = 0;
}

function check({ inside, bot }) {
  try {
    new vm.Script(`0,${bot.source}`, { filename: bot.file, columnOffset: -2 });
  } catch (error) {
    return `${error.stack.split("\n", 1)[0]}: ${error.name}: ${error.message}`;
  }
  const seat = openSeat(inside, bot, [1, 2, 3, 4], 0);
  if (seat.problem !== "") return seat.problem;
  const { create } = seat;
  return create(1, 2, 3, 4, 0, 0, 2000, 10, 200, 0);
}

for (;;) {
  const head = readExactly(4);
  if (head === null) process.exit(0);
  const request = JSON.parse(readExactly(head.readUInt32LE()).toString());
  if (request.kind === "check") {
    const problem = check(request);
    send("P", Buffer.from([isSpent(request) ? 1 : 0]), Buffer.from(problem));
  } else play(request);
}
