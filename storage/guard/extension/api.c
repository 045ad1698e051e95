#include "storage/guard/extension/api.h"

SQLITE_EXTENSION_INIT1
