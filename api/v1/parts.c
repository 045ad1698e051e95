#include "api/v1/parts.h"

#include <assert.h>

void api_write_parts(struct api_writer *writer, const enum fence_part parts[], unsigned total)
{
    assert(total <= FENCE_MASTERS_MAX);
    api_write_array(writer, "masters");
    for (unsigned i = 0; i < total; i++)
        api_write_string(writer, NULL, fence_part_name(parts[i]));
    api_write_end(writer);
}
