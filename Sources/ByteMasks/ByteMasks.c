// All is in the header, to be inlined; a target needs a source file.
#include "ByteMasks.h"
