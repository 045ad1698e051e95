// A program of others in C++: the installed guard, on the database file that is its argument. Fails
// where a stale write is let in.
#include <pawl_guard.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

namespace
{
class Transaction
{
  public:
    explicit Transaction(sqlite3 *db) : db_(db) { demand(pawl_guard_begin(db), "begin"); }
    ~Transaction() { pawl_guard_rollback(db_); }
    Transaction(const Transaction &) = delete;
    Transaction &operator=(const Transaction &) = delete;

    void commit() { demand(pawl_guard_commit(db_), "commit"); }

    static void demand(int error, const char *what)
    {
        if (error < 0)
            throw std::runtime_error(std::string(what) + ": " + pawl_guard_error_name(error));
    }

  private:
    sqlite3 *db_;
};

void run(const char *path)
{
    sqlite3 *opened = nullptr;
    Transaction::demand(pawl_guard_open(path, nullptr, 0, &opened), "open");
    const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> db(opened, sqlite3_close);
    Transaction::demand(pawl_guard_install(db.get()), "install");
    {
        Transaction transaction(db.get());
        Transaction::demand(pawl_guard_claim(db.get(), "accounts/anna", 34, nullptr), "claim");
        transaction.commit();
    }
    Transaction transaction(db.get());
    pawl_guard_rejection rejection = {};
    if (pawl_guard_check(db.get(), "accounts/anna", 33, &rejection) != PAWL_GUARD_ESTALE ||
        rejection.highest_token != 34)
        throw std::runtime_error("a stale write was let in");
}
} // namespace

int main(int argc, char **argv)
{
    try {
        run(argc == 2 ? argv[1] : "");
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
