// What a bot is asked, as text for people.

// The callback behind a door with what it is given; `a`, `b` and `c` are the numbers that the door takes. It stands alone,
// because its text is also put into the bots' realms, and uses nothing there that a bot could have changed.
export function request(door, a, b, c, total, remain, opCard) {
  const coins = `"my_coins":${a},"op_coins":${total - a}`;
  switch (door) {
    case "load":
      return "class";
    case "create":
      return "constructor()";
    case "playerName":
      return "player_name";
    case "startGame":
      return "onGameStart()";
    case "startSet":
      return `onSetStart({"my_coins":${total / 2}})`;
    case "startRound": {
      const cards = `"my_cards":[${b & 31},${(b >>> 5) & 31}],"op_card":${(b >>> 10) & 31}`;
      const first = ((b >>> 15) & 1) === 1;
      return `onRoundStart({${coins},${cards},"first_turn":${first},"remain_round_count":${remain}})`;
    }
    case "turn":
      return `onTurnStart({${coins},"my_bet_coins":${b},"op_bet_coins":${c}})`;
    case "endRound":
      return `onRoundEnd({"win":${(b >>> 21) - 2},${coins},"op_cards":[${opCard},${(b >>> 16) & 31}]})`;
    case "endSet":
      return `onSetEnd({"win":${b},${coins}})`;
    case "endGame":
      return `onGameEnd({"win":${a}})`;
  }
  return door;
}
