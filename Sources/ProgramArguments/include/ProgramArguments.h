#pragma once

/// How many words the program was started with, its own name first; 0 where the C library does not say.
int sheaf_argument_count(void);

/// A word, ended by a zero byte, for as long as the process lives.
const char *sheaf_argument(int index);
