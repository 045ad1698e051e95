/* Checks the signers of a server's certificate. libcurl trusts each certificate that may sign, even
 * a program's own: openssl req -x509 sets CA:TRUE by default. So an intermediate CA must state that
 * it is one: with keyCertSign in its key usage (RFC 5280, section 4.2.1.3). */
#include "api/client/client.h"

#include <string.h>

#if LIBCURL_VERSION_NUM >= 0x075000

/* The value of @name in @entries, lines of "NAME:VALUE"; NULL: there is none. */
static const char *value_of(const struct curl_slist *entries, const char *name)
{
    const size_t len = strlen(name);
    for (; entries != NULL; entries = entries->next)
        if (strncmp(entries->data, name, len) == 0 && entries->data[len] == ':')
            return entries->data + len + 1;
    return NULL;
}

/* Reports whether this is a CA. A self-signed CA is trusted only if the CA file has it. */
static bool is_authority_of_some_kind(const struct curl_slist *entries)
{
    const char *subject = value_of(entries, "Subject");
    const char *issuer = value_of(entries, "Issuer");
    const char *usage = value_of(entries, "X509v3 Key Usage");
    return (usage != NULL && strstr(usage, "Certificate Sign") != NULL) ||
           (subject != NULL && issuer != NULL && strcmp(subject, issuer) == 0);
}

/* libcurl calls this when it has connected, before the first byte of the request. A reused
 * connection shows no certificates: they were checked before.
 * NOLINTNEXTLINE(readability-non-const-parameter): libcurl's type */
static int look_at_chain(void *user, char *primary_ip, char *local_ip, int primary_port,
                         int local_port)
{
    pawl_client *client = user;
    struct curl_certinfo *chain = NULL;
    (void)primary_ip, (void)local_ip, (void)primary_port, (void)local_port;
    if (curl_easy_getinfo(client->curl, CURLINFO_CERTINFO, &chain) != CURLE_OK || chain == NULL)
        return CURL_PREREQFUNC_OK;
    for (int i = 1; i < chain->num_of_certs; i++)
        client->bad_chain = client->bad_chain || !is_authority_of_some_kind(chain->certinfo[i]);
    return client->bad_chain ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* Reports whether the TLS library reports extensions: only OpenSSL does. */
static bool tells_extensions(void)
{
    const char *library = curl_version_info(CURLVERSION_NOW)->ssl_version;
    return library != NULL && strstr(library, "OpenSSL") != NULL;
}

void client_watch_chain(pawl_client *client)
{
    client->bad_chain = false;
    if (!tells_extensions())
        return;
    curl_easy_setopt(client->curl, CURLOPT_CERTINFO, 1L);
    curl_easy_setopt(client->curl, CURLOPT_PREREQFUNCTION, look_at_chain);
    curl_easy_setopt(client->curl, CURLOPT_PREREQDATA, client);
}

#else

void client_watch_chain(pawl_client *client)
{
    client->bad_chain = false;
}

#endif
