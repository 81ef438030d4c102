// In C, because Swift's own `CommandLine` reads /proc/self/cmdline on Linux: in a root without /proc, where a
// static program is likely to be run, it would find no words at all. The loaders of glibc and of Darwin give
// the words to constructors.
#include "ProgramArguments.h"

// This one says which C library it is.
#include <stdlib.h>

static int count = 0;
static char *const *words = NULL;

#if defined(__GLIBC__) || defined(__APPLE__)
__attribute__((constructor)) static void keep(int given, char **all) {
  count = given;
  words = all;
}
#endif

int sheaf_argument_count(void) { return count; }

const char *sheaf_argument(int index) {
  return index >= 0 && index < count ? words[index] : NULL;
}
