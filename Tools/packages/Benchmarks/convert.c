// convert: the C side of text conversion, `convert iconv|icu FILE ROUNDS`.
//
// Does: converts a file of UTF-16LE in memory to UTF-8, piece by piece, so many times; prints wall and CPU seconds.
// Knows: iconv(3), and ICU's u_strToUTF8 if it is built with ICU. Does not know: the other side of the comparison.

#include <errno.h>
#include <iconv.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef WITH_ICU
#include <unicode/ustring.h>
#endif

enum { PIECE = 64 << 10 };

static char output[4 * PIECE];

static void stop(const char *what) {
  fprintf(stderr, "convert: %s\n", what);
  exit(1);
}

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static size_t with_iconv(char *text, size_t count) {
  iconv_t converter = iconv_open("UTF-8", "UTF-16LE");
  if (converter == (iconv_t)-1) stop("no converter");
  size_t written = 0;
  for (size_t start = 0; start < count;) {
    size_t piece = count - start < PIECE ? count - start : PIECE;
    char *from = text + start, *to = output;
    size_t left = piece, room = sizeof output;
    // Half of a pair at the end of a piece is left for the next one.
    if (iconv(converter, &from, &left, &to, &room) == (size_t)-1 && errno != EINVAL) stop("not UTF-16LE");
    if (left == piece) stop("the text ends inside a pair");
    start += piece - left;
    written += sizeof output - room;
  }
  iconv_close(converter);
  return written;
}

#ifdef WITH_ICU
static size_t with_icu(char *text, size_t count) {
  const UChar *units = (const UChar *)text;
  size_t written = 0;
  for (size_t start = 0, all = count / 2; start < all;) {
    size_t piece = all - start < PIECE / 2 ? all - start : PIECE / 2;
    if (piece > 1 && start + piece < all && (units[start + piece - 1] & 0xFC00) == 0xD800) piece--;
    UErrorCode status = U_ZERO_ERROR;
    int32_t length = 0;
    u_strToUTF8(output, sizeof output, &length, units + start, (int32_t)piece, &status);
    if (U_FAILURE(status)) stop("not UTF-16LE");
    start += piece;
    written += (size_t)length;
  }
  return written;
}
#endif

int main(int count, char **arguments) {
  if (count != 4) stop("usage: convert iconv|icu FILE ROUNDS");
  size_t (*convert)(char *, size_t) = NULL;
  if (strcmp(arguments[1], "iconv") == 0) convert = with_iconv;
#ifdef WITH_ICU
  if (strcmp(arguments[1], "icu") == 0) convert = with_icu;
#endif
  if (!convert) stop("no such converter");
  FILE *file = fopen(arguments[2], "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) stop("no such file");
  size_t length = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(length ? length : 1);
  if (!text || fread(text, 1, length, file) != length) stop("the file cannot be read");
  double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  size_t written = 0;
  for (int round = 0; round < atoi(arguments[3]); round++) written += convert(text, length);
  if (length > 2 && written == 0) stop("nothing was written");
  printf("%.6f %.6f\n", seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
}
