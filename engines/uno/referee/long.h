/* Level `wasm`: a bot's `long` has 64 bits there too, if its source has no `long long`, no
 * `long double` and includes nothing but proj2.h. */
#define long long long
#define labs llabs
