/* pawld over a file that is older than what it answered: every way in which that comes about. And
 * what is no such way. */
#include "tests/lib/case.h"
#include "tests/lib/machine.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/workdir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SHORT_TTL "{\"ttl_ms\": 150}"

enum {
    PATIENCE_MS = 10000,
    SLACK_MS = 1300, /* after which a witness that was put back is noticed */
    TOKENS = 3,
    ID_AT = 16, /* in the witness */
    ID_LEN = 32,
    VERSION_1_BYTES = 144,
};

static char backup[WORKDIR_PATH_BYTES];
static struct pawl_service service;
static const char *no_machine; /* why there are no mounts; NULL: there are */

static int begin(void **state)
{
    (void)workdir_setup(state);
    workdir_join(workdir.path, "backup", backup);
    return 0;
}

static char machine_dir[] = "/tmp/pawl-machine-XXXXXX";

static int begin_all(void **state)
{
    assert_non_null(mkdtemp(machine_dir));
    no_machine = machine_begin(machine_dir);
    return 0;
}

static int end_all(void **state)
{
    tempdir_remove_tree(machine_dir);
    return 0;
}

static void serve(void)
{
    service = pawld_start_at(workdir.data, NULL);
    pawl_wait_ready(service);
}

enum ending {
    KILLED,
    STOPPED
};

static void end_it(enum ending ending)
{
    if (ending == KILLED)
        process_kill(service.process);
    else
        assert_int_equal(process_stop(service.process), 0);
}

static int64_t take_tokens(void)
{
    int64_t token = 0;
    for (unsigned i = 0; i < TOKENS; i++) {
        const struct grant grant = call_grant(service.port, "orders", NULL);
        call_give_back(service.port, "orders", &grant);
        token = grant.token;
    }
    return token;
}

static void run_script(const char *script)
{
    const char *const argv[] = {"sh", "-ec", script, workdir.data, backup, NULL};
    assert_int_equal(process_run(argv, workdir.said, PATIENCE_MS), 0);
}

static void expect_refused_at(const char *where, const char *words)
{
    const int status = pawld_run_at(
        NULL, where, (const char *const[]){"--listen", "127.0.0.1:0", NULL}, workdir.said);
    workdir_expect_said(status, 1, words);
    workdir_expect_said(status, 1, "pawld init --token-floor T");
}

static void expect_refused(const char *words)
{
    expect_refused_at(workdir.data, words);
}

/* The folder in the kernel's memory. */
static void find_record(char ret_path[static WORKDIR_PATH_BYTES])
{
    char path[WORKDIR_PATH_BYTES];
    char id[ID_LEN + 1] = "";
    workdir_join(workdir.data, "pawl.witness", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, id, ID_LEN, ID_AT), ID_LEN);
    close(fd);
    snprintf(ret_path, WORKDIR_PATH_BYTES, "/dev/shm/pawl-%s", id);
}

/* Asks as a machine does that started again: the kernel's memory has nothing of the folder. */
static void forget_record(void)
{
    char record[WORKDIR_PATH_BYTES];
    find_record(record);
    (void)unlink(record);
}

#define COPY "cp -a \"$0\" \"$1\""

/* How a case goes: serve and copy, serve on, end, put back, start. */
struct row {
    const char *back;  /* a script: $0 is the folder, $1 what COPY made */
    const char *words; /* words of the refusal */
    bool stops_first;  /* the copy is of a folder whose pawld was stopped */
    enum ending ending;
    bool keeps_record; /* no restart of the machine in between */
    bool restarts;     /* pawld stops and serves once more before its end */
    bool reflinks;     /* reflinks of the file system are needed */
};

static bool has_reflinks(void)
{
    const char *const argv[] = {"sh", "-c",
                                "echo x >\"$0.r\" && cp --reflink=always \"$0.r\" \"$0.s\"",
                                workdir.data, NULL};
    return process_run(argv, workdir.said, PATIENCE_MS) == 0;
}

static void expect_row_refused(void **state)
{
    const struct row *row = *state;
    if (row->reflinks && !has_reflinks())
        case_skip("the file system has no reflinks");
    serve();
    (void)take_tokens();
    if (row->stops_first)
        end_it(STOPPED);
    run_script(COPY);
    if (row->stops_first)
        serve();
    (void)take_tokens();
    if (row->restarts) {
        end_it(STOPPED);
        serve();
        (void)take_tokens();
    }
    end_it(row->ending);
    wait_ms(SLACK_MS);
    if (!row->keeps_record)
        forget_record();
    run_script(row->back);
    expect_refused(row->words);
    expect_refused(row->words); /* looking at it does not make it right */
}

#define IN_PLACE(files) "cd \"$1\" && for f in " files "; do cp -p \"$f\" \"$0/$f\"; done"

/* Elsewhere: what is in the new folder was written by the old one. */
static void expect_refused_elsewhere(const char *how)
{
    serve();
    (void)take_tokens();
    end_it(KILLED);
    run_script(how);
    expect_refused_at(backup, "is a copy");
}

static void database_alone_is_no_new_fleet_elsewhere(void **state)
{
    expect_refused_elsewhere("mkdir \"$1\" && cp -p \"$0/pawl.db\" \"$1\"");
}

static void hard_link_of_a_database_is_no_new_fleet(void **state)
{
    expect_refused_elsewhere("mkdir \"$1\" && ln \"$0/pawl.db\" \"$1/pawl.db\"");
}

static void need_machine(void)
{
    if (no_machine)
        case_skip(no_machine);
}

static void bind_mount_of_a_copy_is_refused(void **state)
{
    need_machine();
    serve();
    (void)take_tokens();
    end_it(STOPPED);
    run_script(COPY);
    serve();
    (void)take_tokens();
    end_it(STOPPED);
    run_script("mount --bind \"$1\" \"$0\"");
    expect_refused("is a copy");
    run_script("umount \"$0\"");
    serve();
}

#define OVERLAY                                                                                    \
    "mkdir \"$0.up/u\" \"$0.up/w\" && "                                                            \
    "mount -t overlay none "                                                                       \
    "-o lowerdir=\"$0.lower\",upperdir=\"$0.up/u\",workdir=\"$0.up/w\" \"$0\""

/* A container's layer over its image: what was written since goes with the layer. */
static void overlay_without_its_upper_layer_is_refused(void **state)
{
    need_machine();
    service = pawld_start_at(workdir.data, (const char *const[]){"--max-ttl-ms", "1000", NULL});
    pawl_wait_ready(service);
    (void)take_tokens();
    end_it(STOPPED);
    run_script("mv \"$0\" \"$0.lower\" && mkdir \"$0\" \"$0.up\" && "
               "mount -t tmpfs none \"$0.up\" && " OVERLAY);
    expect_refused("is a copy"); /* a process of the image's, and others may have it too */
    assert_int_equal(pawld_run_at("init", workdir.data,
                                  (const char *const[]){"--token-floor", "9", NULL}, workdir.said),
                     0);
    serve();
    (void)take_tokens();
    end_it(STOPPED);
    run_script("umount \"$0\" \"$0.up\" && mount -t tmpfs none \"$0.up\" && " OVERLAY);
    expect_refused("older than the last pawld init");
    forget_record();
    expect_refused("is a copy");
    run_script("umount \"$0\" \"$0.up\"");
}

/* The disk of a case that can be copied */
static struct machine_disk disk;

static void serve_from_disk(unsigned inode_bytes)
{
    machine_disk_make(&disk, workdir.path, inode_bytes);
    workdir_join(disk.at, "data", workdir.data);
    serve();
    (void)take_tokens();
}

static void expect_snapshot_refused(enum ending ending)
{
    need_machine();
    serve_from_disk(256);
    machine_disk_copy(&disk);
    (void)take_tokens();
    end_it(ending);
    machine_disk_unmount(&disk);
    machine_disk_put_back(&disk);
    machine_disk_mount(&disk);
    expect_refused("pawl.db or its log was restored");
    machine_disk_unmount(&disk);
}

static void snapshot_of_a_file_system_is_refused_until_the_machine_restarts(void **state)
{
    expect_snapshot_refused(KILLED);
}

static void snapshot_of_a_file_system_is_refused_after_a_clean_stop(void **state)
{
    expect_snapshot_refused(STOPPED);
}

/* Returns the last token. */
static int64_t expect_no_more_grants(void)
{
    const uint64_t end_ms = wait_now_ms() + PATIENCE_MS;
    int64_t token = 0;
    for (;;) {
        const struct http_response *response = call_acquire_once(service.port, "orders", SHORT_TTL);
        if (response->status == 503)
            return token;
        if (response->status == 201)
            token = grant_of(response).token;
        assert_true(wait_now_ms() < end_ms);
        wait_ms(50);
    }
}

/* With its inode, birth and modification times, under a pawld that runs. */
static void database_that_is_put_back_while_it_serves_grants_nothing_more(void **state)
{
    serve();
    (void)take_tokens();
    end_it(STOPPED);
    run_script(COPY);
    serve();
    run_script(IN_PLACE("pawl.db"));
    (void)expect_no_more_grants();
    end_it(STOPPED);
    expect_refused("another program than pawld");
}

/* SQLite goes on with the log that it has open, and a crash would lose that. */
static void log_that_is_removed_while_it_serves_is_saved_by_a_stop(void **state)
{
    serve();
    (void)take_tokens();
    run_script("rm \"$0/pawl.db-wal\"");
    const int64_t token = expect_no_more_grants();
    end_it(STOPPED);
    serve();
    assert_true(call_grant(service.port, "orders", "{\"wait_ms\": 5000}").token > token);
}

/* SQLite would bring zeros into the database. */
static void log_that_is_emptied_while_it_serves_leaves_the_database_whole(void **state)
{
    serve();
    (void)take_tokens();
    run_script("truncate -s 0 \"$0/pawl.db-wal\"");
    (void)expect_no_more_grants();
    end_it(STOPPED);
    expect_refused("pawl.db or its log was restored");
}

/* The last note of pawld then has the ctime that the database gets. */
static void expect_refused_after_a_write_before(enum ending ending)
{
    serve();
    (void)take_tokens();
    end_it(STOPPED);
    run_script(COPY);
    serve();
    (void)take_tokens();
    run_script(IN_PLACE("pawl.db"));
    end_it(ending);
    expect_refused("another program than pawld");
}

static void database_that_is_put_back_right_before_a_kill_is_refused(void **state)
{
    expect_refused_after_a_write_before(KILLED);
}

static void database_that_is_put_back_right_before_a_stop_is_refused(void **state)
{
    expect_refused_after_a_write_before(STOPPED);
}

/* The original files, inodes and all, moved aside by a rename before the floor. */
static void file_from_before_a_floor_is_refused(void **state)
{
    service = pawld_start_at(workdir.data, (const char *const[]){"--max-ttl-ms", "1000", NULL});
    pawl_wait_ready(service);
    (void)take_tokens();
    end_it(STOPPED);
    run_script("mkdir \"$1\" && mv \"$0\"/pawl.* \"$1\" && cp -a \"$1\"/pawl.* \"$0\"");
    assert_int_equal(pawld_run_at("init", workdir.data,
                                  (const char *const[]){"--token-floor", "9", NULL}, workdir.said),
                     0);
    run_script("rm \"$0\"/pawl.* && mv \"$1\"/pawl.* \"$0\"");
    expect_refused("older than the last pawld init");
    forget_record();
    expect_refused("pawl.witness was restored");
}

static void expect_kept(const char *script, enum ending ending)
{
    serve();
    int64_t token = take_tokens();
    end_it(ending);
    wait_ms(SLACK_MS);
    run_script(script);
    serve();
    assert_true(take_tokens() > token);
    end_it(STOPPED);
}

static void owner_and_mode_may_change_while_it_is_stopped(void **state)
{
    expect_kept("chmod -R g+rX \"$0\"", KILLED);
    expect_kept("chmod -R g-rwx \"$0\"", STOPPED);
    expect_kept("chmod -R g-rwx \"$0\"", KILLED); /* they had that already */
    if (geteuid() == 0) {
        expect_kept("chown -R 0:12 \"$0\"", KILLED);
        expect_kept("chown -R 0:0 \"$0\"", STOPPED);
    }
}

/* It cannot read the record of the user before, so it does not know that no other program wrote. */
static void another_user_is_told_to_start_it_as_the_first(void **state)
{
    enum {
        OTHER = 12
    };
    char record[WORKDIR_PATH_BYTES];
    if (geteuid() != 0)
        case_skip("it needs root");
    serve();
    const int64_t token = take_tokens();
    end_it(STOPPED);
    wait_ms(SLACK_MS);
    run_script("chown -R 0:12 \"$0\"");
    find_record(record);
    assert_int_equal(chown(record, OTHER, OTHER), 0);
    expect_refused("or only its owner was changed");
    assert_int_equal(chown(record, 0, 0), 0);
    serve();
    assert_true(take_tokens() > token);
    end_it(STOPPED);
}

static void start_on_a_full_disk_says_so(void **state)
{
    need_machine();
    run_script("mkdir \"$0\" && mount -t tmpfs -o size=1m none \"$0\"");
    serve();
    const int64_t token = take_tokens();
    end_it(STOPPED);
    run_script("dd if=/dev/zero of=\"$0/fill\" bs=4k 2>/dev/null || true");
    const int status = pawld_run_at(
        NULL, workdir.data, (const char *const[]){"--listen", "127.0.0.1:0", NULL}, workdir.said);
    workdir_expect_said(status, 1, "the disk is full. Free space");
    run_script("rm \"$0/fill\"");
    serve();
    assert_true(take_tokens() > token);
    end_it(STOPPED);
    run_script("umount \"$0\"");
}

static void backup_by_hard_links_is_no_write(void **state)
{
    expect_kept("cp -al \"$0\" \"$1\"", KILLED);
    expect_kept("rm -r \"$1\"", STOPPED);
}

static void owner_and_mode_may_change_while_it_serves(void **state)
{
    serve();
    int64_t token = take_tokens();
    wait_ms(SLACK_MS);
    run_script("chmod -R g+rX \"$0\"; cp -al \"$0\" \"$1\"");
    wait_ms(SLACK_MS);                           /* two probes */
    run_script("chmod g-r \"$0/pawl.witness\""); /* alone */
    wait_ms(SLACK_MS);
    end_it(KILLED);
    forget_record();
    serve();
    assert_true(take_tokens() > token);
}

static void witness_of_version_1_is_upgraded(void **state)
{
    static const char magic_1[16] = "pawl witness 1", magic_2[16] = "pawl witness 2";
    char path[WORKDIR_PATH_BYTES], magic[sizeof(magic_2)] = "";
    serve();
    int64_t token = take_tokens();
    end_it(STOPPED);
    forget_record();
    workdir_join(workdir.data, "pawl.witness", path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(fd, magic_1, sizeof(magic_1), 0), sizeof(magic_1));
    assert_int_equal(ftruncate(fd, VERSION_1_BYTES), 0);
    serve();
    assert_true(take_tokens() > token);
    assert_int_equal(pread(fd, magic, sizeof(magic), 0), sizeof(magic));
    assert_memory_equal(magic, magic_2, sizeof(magic_2));
    close(fd);
}

static void power_cut_is_no_reason_to_refuse(void **state)
{
    need_machine();
    for (unsigned round = 0; round < 6; round++) {
        if (round % 3 == 0) {
            if (round > 0)
                machine_disk_unmount(&disk);
            serve_from_disk(round == 0 ? 256 : 128);
        } else {
            serve();
        }
        int64_t token = take_tokens();
        wait_ms(round * 300);
        machine_disk_cut(&disk, service.process);
        end_it(KILLED);
        machine_disk_unmount(&disk);
        machine_disk_mount(&disk);
        machine_restart();
        serve();
        assert_true(take_tokens() > token);
        end_it(round % 2 ? KILLED : STOPPED);
    }
    machine_disk_unmount(&disk);
}

static void records_of_folders_that_are_gone_are_removed(void **state)
{
    char record[WORKDIR_PATH_BYTES];
    serve();
    find_record(record);
    if (access(record, F_OK) != 0)
        case_skip("there is no /dev/shm to write to");
    end_it(STOPPED);
    assert_int_equal(access(record, F_OK), 0);
    run_script("rm -r \"$0\"");
    workdir_join(workdir.path, "other", workdir.data);
    serve();
    assert_int_equal(access(record, F_OK), -1);
}

#define PUT_BACK_CASE(name) cmocka_unit_test_setup_teardown(name, begin, workdir_teardown)
#define ROW(name, ...)                                                                             \
    {                                                                                              \
#name "_is_refused", expect_row_refused, begin, workdir_teardown, &(struct row)            \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static const struct CMUnitTest cases[] = {
    ROW(whole_folder_killed, .words = "pawl.witness was restored", .ending = KILLED,
        .back = "rm -f \"$0\"/pawl.db-*; " IN_PLACE("*")),
    ROW(whole_folder_stopped, .words = "pawl.witness was restored", .ending = STOPPED,
        .stops_first = true, .back = IN_PLACE("pawl.db pawl.witness")),
    ROW(whole_folder_on_the_same_boot, .words = "pawl.db or its log was restored",
        .ending = STOPPED, .stops_first = true, .keeps_record = true,
        .back = IN_PLACE("pawl.db pawl.witness")),
    ROW(whole_folder_by_tar, .words = "pawl.witness was restored", .ending = STOPPED,
        .stops_first = true,
        .back = "tar -C \"$1\" -cf \"$1.tar\" . && tar -C \"$0\" -xpf \"$1.tar\" --overwrite"),
    ROW(whole_folder_by_rename, .words = "is a copy", .ending = STOPPED, .stops_first = true,
        .back = "cd \"$1\" && mv -f pawl.db pawl.witness \"$0\""),
    ROW(database_in_place, .words = "pawl.db or its log was restored", .ending = STOPPED,
        .stops_first = true, .back = IN_PLACE("pawl.db")),
    ROW(database_by_rename, .words = "is a copy", .ending = STOPPED, .stops_first = true,
        .back = "mv -f \"$1/pawl.db\" \"$0/pawl.db\""),
    ROW(database_under_a_newer_log, .words = "another program than pawld", .ending = KILLED,
        .stops_first = true, .back = IN_PLACE("pawl.db")),
    /* A page that the log lacks is lost then, and a change of mode hides the ctime. */
    ROW(database_under_the_log_of_a_later_checkpoint, .words = "pawl.db or its log was restored",
        .ending = KILLED, .stops_first = true, .keeps_record = true, .restarts = true,
        .back = IN_PLACE("pawl.db") " && chmod g+r \"$0/pawl.db\""),
    ROW(database_with_its_log, .words = "pawl.db or its log was restored", .ending = KILLED,
        .back = IN_PLACE("pawl.db pawl.db-wal")),
    ROW(database_with_its_witness, .words = "pawl.db or its log was restored", .ending = KILLED,
        .back = IN_PLACE("pawl.db pawl.witness") " && rm \"$0/pawl.db-wal\""),
    ROW(log_alone, .words = "pawl.db or its log was restored", .ending = KILLED,
        .back = IN_PLACE("pawl.db-wal")),
    ROW(log_with_its_witness, .words = "pawl.witness was restored", .ending = KILLED,
        .back = IN_PLACE("pawl.db-wal pawl.witness")),
    ROW(witness_alone, .words = "pawl.witness is older", .ending = KILLED,
        .back = IN_PLACE("pawl.witness")),
    ROW(log_removed, .words = "pawl.db or its log was restored", .ending = KILLED,
        .back = "rm \"$0\"/pawl.db-*"),
    ROW(log_and_witness_removed, .words = "is a copy", .ending = KILLED,
        .back = "rm \"$0\"/pawl.db-* \"$0/pawl.witness\""),
    ROW(database_and_witness_removed, .words = "is missing", .ending = KILLED,
        .back = "rm \"$0/pawl.db\" \"$0/pawl.witness\""),
    ROW(page_of_the_database, .words = "another program than pawld", .ending = KILLED,
        .stops_first = true,
        .back =
            "touch -r \"$0/pawl.db\" \"$1/time\" && "
            "dd if=\"$1/pawl.db\" of=\"$0/pawl.db\" bs=4096 skip=1 seek=1 count=1 conv=notrunc && "
            "touch -r \"$1/time\" \"$0/pawl.db\""),
    ROW(page_of_the_log, .words = "pawl.db or its log was restored", .ending = KILLED,
        .back = "dd if=\"$1/pawl.db-wal\" of=\"$0/pawl.db-wal\" bs=4096 count=2 conv=notrunc && "
                "truncate -r \"$1/pawl.db-wal\" \"$0/pawl.db-wal\""),
    ROW(reflink_clone_in_place, .words = "pawl.witness was restored", .ending = STOPPED,
        .stops_first = true, .reflinks = true,
        .back = "cd \"$1\" && for f in pawl.db pawl.witness; do cp -p --reflink=always $f "
                "\"$0/$f\"; done"),
    PUT_BACK_CASE(database_alone_is_no_new_fleet_elsewhere),
    PUT_BACK_CASE(hard_link_of_a_database_is_no_new_fleet),
    PUT_BACK_CASE(bind_mount_of_a_copy_is_refused),
    PUT_BACK_CASE(overlay_without_its_upper_layer_is_refused),
    PUT_BACK_CASE(snapshot_of_a_file_system_is_refused_until_the_machine_restarts),
    PUT_BACK_CASE(snapshot_of_a_file_system_is_refused_after_a_clean_stop),
    PUT_BACK_CASE(database_that_is_put_back_while_it_serves_grants_nothing_more),
    PUT_BACK_CASE(log_that_is_removed_while_it_serves_is_saved_by_a_stop),
    PUT_BACK_CASE(log_that_is_emptied_while_it_serves_leaves_the_database_whole),
    PUT_BACK_CASE(database_that_is_put_back_right_before_a_kill_is_refused),
    PUT_BACK_CASE(database_that_is_put_back_right_before_a_stop_is_refused),
    PUT_BACK_CASE(file_from_before_a_floor_is_refused),
    PUT_BACK_CASE(owner_and_mode_may_change_while_it_is_stopped),
    PUT_BACK_CASE(another_user_is_told_to_start_it_as_the_first),
    PUT_BACK_CASE(start_on_a_full_disk_says_so),
    PUT_BACK_CASE(backup_by_hard_links_is_no_write),
    PUT_BACK_CASE(owner_and_mode_may_change_while_it_serves),
    PUT_BACK_CASE(witness_of_version_1_is_upgraded),
    PUT_BACK_CASE(power_cut_is_no_reason_to_refuse),
    PUT_BACK_CASE(records_of_folders_that_are_gone_are_removed),
};

CASE_MAIN(cases, begin_all, end_all)
