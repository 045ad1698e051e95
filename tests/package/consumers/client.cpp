// A program of others in C++: one lock of a pawld (PAWL_SERVER), with the installed client. Prints its
// token.
#include <pawl.h>

#include <iostream>
#include <memory>

namespace
{
struct Free {
    void operator()(pawl_client *client) const { pawl_client_free(client); }
    void operator()(pawl_lock *lock) const { pawl_lock_free(lock); }
};

int fail(const char *what, const char *reason)
{
    std::cerr << what << ": " << reason << '\n';
    return 1;
}
} // namespace

int main()
{
    pawl_client *made = nullptr;
    if (pawl_client_new(nullptr, &made) < 0)
        return fail("pawl_client_new", "failed");
    const std::unique_ptr<pawl_client, Free> client(made);

    const char *const names[] = {"package/client"};
    pawl_request request = {};
    request.names = names;
    request.name_count = 1;
    pawl_lock *acquired = nullptr;
    if (pawl_acquire(client.get(), &request, &acquired) < 0)
        return fail("pawl_acquire", pawl_client_reason(client.get()));
    const std::unique_ptr<pawl_lock, Free> lock(acquired);

    bool released = false;
    if (pawl_release(client.get(), lock.get(), &released) < 0 || !released)
        return fail("pawl_release", pawl_client_reason(client.get()));
    std::cout << pawl_lock_token(lock.get(), 0) << '\n';
    return 0;
}
