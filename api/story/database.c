#include "api/story/database.h"

enum {
    BALANCE = 100, /* at first */
};

/* Returns the token that refuses @query; 0: none does. */
static int64_t token_against(struct story_database *database, const struct story_query *query)
{
    struct fence_guard seen = database->seen;
    bool by_reader = false;
    const int error = query->mode == FENCE_MODE_READ
                          ? fence_guard_judge_read(&database->seen, query->token, &seen)
                          : fence_guard_judge_write(&database->seen, query->token, &seen);
    if (database->is_guarded && error)
        return query->mode == FENCE_MODE_READ
                   ? database->seen.writer
                   : fence_guard_refusing(&database->seen, query->token, &by_reader);
    if (!error)
        database->seen = seen;
    return 0;
}

/* A write that is based on an older version undoes later writes. */
static void store(struct story_world *world, const struct story_message *message)
{
    struct story_database *database = &world->database;
    const struct story_query *query = &message->query;
    if (query->version != database->version)
        story_tell(world, (struct story_event){.kind = STORY_LOST_UPDATE,
                                               .who = STORY_DATABASE,
                                               .whom = message->from,
                                               .token = (int32_t)query->token,
                                               .value = database->balance});
    database->balance = query->balance;
    database->version++;
}

void story_database_asked(struct story_world *world, const struct story_message *message)
{
    struct story_database *database = &world->database;
    const struct story_query *query = &message->query;
    const int64_t against = token_against(database, query);
    if (against == 0 && message->kind == STORY_WRITE)
        store(world, message);
    story_tell(world, (struct story_event){
                          .kind = against == 0 ? STORY_ACCEPTED : STORY_STALE,
                          .who = STORY_DATABASE,
                          .whom = message->from,
                          .what = (int32_t)message->kind,
                          .token = (int32_t)query->token,
                          .value = against == 0 ? database->balance : (int32_t)against,
                      });
    struct story_message *result = story_send(world, STORY_RESULT, STORY_DATABASE, message->from,
                                              story_client_arrival_us(world), query->token);
    result->query = (struct story_query){
        .task = query->task,
        .mode = query->mode,
        .token = query->token,
        .accepted = against == 0,
        .balance = database->balance,
        .version = database->version,
    };
}

void story_database_open(struct story_world *world)
{
    world->database = (struct story_database){.is_guarded = true, .balance = BALANCE};
}
