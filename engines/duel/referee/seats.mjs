// A bot's realm as the referee sees it: functions that take and give numbers and strings.
import { stream } from "random.mjs";
import { request } from "request.mjs";

// Doors behind which the bot's code runs, and others.
const CALLS = [
  "load", "create", "playerName", "startGame", "startSet", "deal", "startRound", "firstTurn", "turn", "endRound", "endSet",
  "endGame",
];
const READS = [
  "takeLog", "attempts", "attempt", "attemptRequest", "attemptReply", "exceptions", "exception", "preview", "reply",
];

// One way only to match a text, so that none takes for ever.
const TRIVIA = /^(?:\s|\/\/[^\n\r\u2028\u2029]*|\/\*(?:[^*]|\*(?!\/))*\*\/)*/;
const END = /^(?:\s|;|\/\/[^\n\r\u2028\u2029]*|\/\*(?:[^*]|\*(?!\/))*\*\/)*$/;

// Opens a realm and loads a bot into it.
//
// inside: the text of inside.js.    bot: { source, file }.    words: four numbers that start the luck of its loading.
// startMs: what its clock shows.    wrap: (door, name, seat) => door, for whoever wants to see the calls.
//
// Returns the doors by name, and `problem`: "" or why the file is no bot.
export function openSeat(inside, bot, words, startMs, wrap = (door) => door) {
  const realm = new ShadowRealm();
  const open = realm.evaluate(`${inside}(${stream}, ${request})`);
  const seat = {};
  for (const name of READS) seat[name] = open(name);
  for (const name of CALLS) seat[name] = wrap(open(name), name, seat);
  const { load } = seat; // a function of another realm must not be called as a method: the receiver would cross
  const text = load(bot.source, bot.file, ...words, startMs);
  seat.problem = text.startsWith("class") ? shapeProblem(bot.source, text) : text;
  return seat;
}

// Ruling 13: the file is one class expression, with an optional semicolon and comments around it.
function shapeProblem(source, text) {
  const start = TRIVIA.exec(source.replace(/^\uFEFF/, ""))[0].length;
  const body = source.replace(/^\uFEFF/, "").slice(start);
  if (body.startsWith(text) && END.test(body.slice(text.length))) return "";
  return "holds more than one class expression";
}
