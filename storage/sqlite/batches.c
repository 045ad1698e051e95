#include "storage/sqlite/batches.h"

#include <assert.h>

int storage_batches_init(struct storage_batches *batches, struct storage_sqlite_master *master)
{
    int error = 0;
    for (unsigned i = 0; i < STORAGE_BATCHES; i++) {
        batches->jobs[i] = storage_job_new_requests(master);
        batches->out[i] = false;
        if (!batches->jobs[i])
            error = FENCE_ENOMEM;
    }
    return error;
}

void storage_batches_fini(struct storage_batches *batches)
{
    for (unsigned i = 0; i < STORAGE_BATCHES; i++)
        storage_job_free(batches->jobs[i]);
}

struct storage_job *storage_batches_take(struct storage_batches *batches, unsigned epoch)
{
    for (unsigned i = 0; i < STORAGE_BATCHES; i++) {
        if (batches->out[i])
            continue;
        assert(batches->jobs[i]->count == 0);
        batches->out[i] = true;
        batches->jobs[i]->epoch = epoch;
        return batches->jobs[i];
    }
    return NULL;
}

void storage_batches_give(struct storage_batches *batches, struct storage_job *job)
{
    unsigned i = 0;
    while (i < STORAGE_BATCHES && batches->jobs[i] != job)
        i++;
    assert(i < STORAGE_BATCHES && batches->out[i]);
    batches->out[i] = false;
    storage_job_empty(job);
}
