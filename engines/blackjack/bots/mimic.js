// mimic: plays as the dealer does: hits up to a soft 17, never doubles, splits or insures. Bets 5.
"use strict";

const BET = 5;

function total(cards) {
  let sum = 0;
  let aces = 0;
  for (const { rank } of cards) {
    sum += rank === "A" ? 11 : "JQK".includes(rank) ? 10 : Number(rank);
    if (rank === "A") aces += 1;
  }
  for (; sum > 21 && aces > 0; aces -= 1) sum -= 10;
  return { sum, soft: aces > 0 };
}

function decide(request) {
  const { you, decision } = request.st;
  if (request.phase === "bet") {
    const most = Math.min(BET, request.max_bet, Math.floor(you.balance));
    return { action: "BET", amount: Math.max(request.min_bet, most) };
  }
  if (request.phase === "insurance") return { action: "NO_INSURANCE" };
  const hand = you.current_hands.find(({ hand_id }) => hand_id === decision.hand_id);
  const { sum, soft } = total(hand.cards);
  return { action: sum < 17 || (sum === 17 && soft) ? "HIT" : "STAND" };
}

let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (text) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    const request = JSON.parse(line);
    const { match_id, game_id, bot_id } = request;
    const reply = { type: "action_response", match_id, game_id, bot_id, ...decide(request) };
    process.stdout.write(JSON.stringify(reply) + "\n");
  }
});
