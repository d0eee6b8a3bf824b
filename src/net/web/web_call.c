/* SPDX-License-Identifier: Apache-2.0 */
/* web_call.c - see web_call.h. */
#include "net/web/web_call.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"

enum { CONNECT_MS = 5000 };

/* ---- the library ----------------------------------------------------------------- */

#define CURL_FUNCTIONS(X)                                                              \
    X(global_init)                                                                     \
    X(easy_init)                                                                       \
    X(easy_setopt)                                                                     \
    X(easy_perform)                                                                    \
    X(easy_getinfo)                                                                    \
    X(easy_cleanup)                                                                    \
    X(easy_strerror)                                                                   \
    X(slist_append)                                                                    \
    X(slist_free_all)

/* curl.h defines some of these as macros that check types; the functions are meant. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

struct web {
#define CURL_MEMBER(name) __typeof__(curl_##name) *name;
    CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

static const struct {
    const char *name;
    size_t offset;
} curl_symbols[] = {
#define CURL_SYMBOL(name) {"curl_" #name, offsetof(struct web, name)},
    CURL_FUNCTIONS(CURL_SYMBOL)
#undef CURL_SYMBOL
};

/* The one with GnuTLS first: the server has loaded GnuTLS already. */
static void *open_library(void)
{
    static const char *const names[] = {"libcurl-gnutls.so.4", "libcurl.so.4"};
    void *library = NULL;

    for (size_t i = 0; !library && i < ARRAY_LEN(names); i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return library;
}

static det_status load_functions(struct web *web, struct err *err)
{
    void *library = open_library();

    if (!library)
        return err_set(err, DET_UNSUPPORTED,
                       "calls to other servers need the package libcurl3-gnutls "
                       "(libcurl-gnutls.so.4 was not found)");
    for (size_t i = 0; i < ARRAY_LEN(curl_symbols); i++) {
        void *symbol = dlsym(library, curl_symbols[i].name);

        if (!symbol) {
            dlclose(library);
            return err_set(err, DET_UNSUPPORTED, "libcurl has no %s: it is too old",
                           curl_symbols[i].name);
        }
        memcpy((char *)web + curl_symbols[i].offset, &symbol, sizeof(symbol));
    }
    dlclose(library); /* RTLD_NODELETE keeps the code */
    return DET_OK;
}

det_status web_new(struct web **ret_web, struct err *err)
{
    struct web *web = mem_new(struct web);
    det_status st = web ? load_functions(web, err) : err_default(err, DET_NOMEM);

    if (!st && web->global_init(CURL_GLOBAL_DEFAULT))
        st = err_set(err, DET_FAILED, "libcurl could not be initialised");
    if (st) {
        mem_free(web);
        return st;
    }
    *ret_web = web;
    return DET_OK;
}

void web_free(struct web *web)
{
    mem_free(web);
}

/* ---- calls ----------------------------------------------------------------------- */

static size_t take_bytes(char *bytes, size_t size, size_t count, void *arg)
{
    struct buf *body = arg;

    buf_add(body, bytes, size * count);
    return body->status ? 0 : size * count;
}

static int check_stopping(void *arg, curl_off_t down_total, curl_off_t down,
                          curl_off_t up_total, curl_off_t up)
{
    const struct web_request *request = arg;

    (void)down_total, (void)down, (void)up_total, (void)up;
    return request->is_stopping && atomic_load(request->is_stopping);
}

/* Of the many setopt() calls, those that fail would leave the call less strict: each counts. */
static bool set_options(const struct web *web, CURL *call,
                        const struct web_request *request, struct buf *body,
                        char error[CURL_ERROR_SIZE])
{
    const char *schemes = request->allows_http ? "http,https" : "https";
    long timeout_ms = (long)request->timeout_ms;
    bool failed = false;

#define SET(option, value)                                                             \
    failed = failed || web->easy_setopt(call, CURLOPT_##option, (value)) != CURLE_OK
    SET(URL, request->url);
    SET(PROTOCOLS_STR, schemes);
    SET(FOLLOWLOCATION, 0L);
    SET(NOSIGNAL, 1L);
    SET(SSL_VERIFYPEER, 1L);
    SET(SSL_VERIFYHOST, 2L);
    SET(CONNECTTIMEOUT_MS, MIN((long)CONNECT_MS, timeout_ms));
    SET(TIMEOUT_MS, timeout_ms);
    SET(USERAGENT, "det/" DET_VERSION);
    SET(ERRORBUFFER, error);
    SET(WRITEFUNCTION, take_bytes);
    SET(WRITEDATA, body);
    SET(NOPROGRESS, 0L);
    SET(XFERINFOFUNCTION, check_stopping);
    SET(XFERINFODATA, request);
    if (request->ca_file)
        SET(CAINFO, request->ca_file);
    if (request->form)
        SET(POSTFIELDS, request->form);
    if (request->user) {
        SET(HTTPAUTH, CURLAUTH_BASIC);
        SET(USERNAME, request->user);
        SET(PASSWORD, request->password ? request->password : "");
    }
#undef SET
    return !failed;
}

static det_status report_failure(const struct web *web,
                                 const struct web_request *request, CURLcode code,
                                 const char *detail, const struct buf *body,
                                 struct err *err)
{
    const char *why = *detail ? detail : web->easy_strerror(code);

    if (body->status)
        return err_set(err, body->status, "the reply of '%.200s' is too large",
                       request->url);
    if (code == CURLE_OUT_OF_MEMORY)
        return err_default(err, DET_NOMEM);
    return err_set(err,
                   code == CURLE_OPERATION_TIMEDOUT ? DET_TIMEOUT : DET_UNREACHABLE,
                   "'%.200s' cannot be reached: %.200s", request->url, why);
}

static bool append_headers(const struct web *web, const char *const *headers,
                           struct curl_slist **list)
{
    for (; headers && *headers; headers++) {
        struct curl_slist *longer = web->slist_append(*list, *headers);

        if (!longer)
            return false;
        *list = longer;
    }
    return true;
}

det_status web_call(const struct web *web, const struct web_request *request,
                    int *ret_status, struct buf *body, struct err *err)
{
    char detail[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers = NULL;
    CURL *call = web->easy_init();
    CURLcode code = CURLE_OUT_OF_MEMORY;
    long status = 0;

    buf_clear(body);
    if (call && append_headers(web, request->headers, &headers) &&
        set_options(web, call, request, body, detail) &&
        !web->easy_setopt(call, CURLOPT_HTTPHEADER, headers))
        code = web->easy_perform(call);
    if (!code)
        code = web->easy_getinfo(call, CURLINFO_RESPONSE_CODE, &status);
    web->slist_free_all(headers);
    if (call)
        web->easy_cleanup(call);
    if (code)
        return report_failure(web, request, code, detail, body, err);
    *ret_status = (int)status;
    return DET_OK;
}
