# never_bust: hits only where one card cannot take it over 21 (hard 11 and less, soft 17 and less). Bets 5,
# declines insurance, never doubles or splits.
use strict;
use warnings;

$| = 1;

sub least {
    my ($least, @others) = @_;
    for (@others) { $least = $_ if $_ < $least }
    return $least;
}

# Cards as they stand in a request: hard 11 and less, soft 17 and less.
sub safe {
    my ($cards) = @_;
    my ($total, $aces) = (0, 0);
    for my $rank ($cards =~ /"rank"\s*:\s*"(\w+)"/g) {
        $aces++ if $rank eq 'A';
        $total += $rank eq 'A' ? 11 : $rank =~ /[JQK]/ ? 10 : $rank;
    }
    while ($total > 21 && $aces) { $total -= 10; $aces-- }
    return $total <= 11 || ($aces && $total <= 17);
}

while (my $request = <STDIN>) {
    my ($identity) = $request =~ /("match_id".*?)"seat"/;
    my ($phase) = $request =~ /"phase"\s*:\s*"(\w+)"/;
    my ($you) = $request =~ /.*("you".*)/s;
    my $answer = '"NO_INSURANCE"';
    if ($phase eq 'bet') {
        my ($balance) = $you =~ /"balance"\s*:\s*(\d+)/;
        my ($low) = $you =~ /"min_bet"\s*:\s*(\d+)/;
        my ($high) = $you =~ /"max_bet"\s*:\s*(\d+)/;
        my $bet = least(5, $high, $balance);
        $answer = '"BET","amount":' . ($bet < $low ? $low : $bet);
    }
    elsif ($phase eq 'play') {
        my ($hand_id) = $you =~ /"decision".*?"hand_id"\s*:\s*("[^"]*")/;
        my ($cards) = $you =~ /\Q$hand_id\E(.*?)\]/;
        $answer = safe($cards) ? '"HIT"' : '"STAND"';
    }
    print qq({"type":"action_response",${identity}"action":$answer}\n);
}
