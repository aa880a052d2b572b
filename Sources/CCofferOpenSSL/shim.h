// OpenSSL 3.0 for CofferSealing, the only room that imports it.
#ifndef COFFER_OPENSSL_SHIM_H
#define COFFER_OPENSSL_SHIM_H

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/proverr.h>
#include <openssl/rand.h>

#endif
