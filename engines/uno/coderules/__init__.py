"""The code rules of UNO bots (README, section Code rules): what a source may hold, checked in three layers."""
