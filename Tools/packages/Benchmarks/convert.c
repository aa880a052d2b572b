// convert: the C side of text conversion, `convert FILE ROUNDS`.
//
// Does: converts a file of UTF-16LE in memory to UTF-8, piece by piece, so many times; prints wall and CPU seconds.
// Knows: iconv(3). Does not know: the other side of the comparison.

#include <errno.h>
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

static size_t convert(char *text, size_t count) {
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

int main(int count, char **arguments) {
  if (count != 3) stop("usage: convert FILE ROUNDS");
  FILE *file = fopen(arguments[1], "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) stop("no such file");
  size_t length = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(length ? length : 1);
  if (!text || fread(text, 1, length, file) != length) stop("can't read the file");
  double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  size_t written = 0;
  for (int round = 0; round < atoi(arguments[2]); round++) written += convert(text, length);
  if (length > 2 && written == 0) stop("nothing was written");
  printf("%.6f %.6f\n", seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
}
