/* Three functions that cpu_split burns CPU time in, known only by the addresses that this gives
 * away. Built twice: as it is, and with all symbols stripped, so that .eh_frame is all there is. */
typedef unsigned long long word;
#define APART __attribute__((noinline, noclone)) static

APART word library_sixty(word rounds) {
  volatile word x = 1;
  for (word i = 0; i < rounds; ++i) x = x * 6364136223846793005ull + 1;
  return x;
}
APART word library_thirty(word rounds) {
  volatile word x = 3;
  for (word i = 0; i < rounds; ++i) x = (x ^ i) * 0x9E3779B97F4A7C15ull;
  return x;
}
APART word library_ten(word rounds) {
  volatile word x = 7;
  for (word i = 0; i < rounds; ++i) x = (x + i) * 0xD6E8FEB86659FD93ull;
  return x;
}

word (*split_burner(int which))(word) {
  return which == 0 ? library_sixty : which == 1 ? library_thirty : library_ten;
}
