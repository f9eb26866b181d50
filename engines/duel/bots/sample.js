// Bets at random: gives up in one turn of five, calls in three of ten, and else bets anything that it may.
class Sample {
  player_name = "_will be replaced_";

  onTurnStart(data) {
    const least = data.op_bet_coins;
    const most = data.my_coins;
    const luck = Math.random();
    if (luck < 0.2) return -1;
    if (luck < 0.5) return least;
    return least + Math.floor(luck * (most - least + 1));
  }
}
