#include "remote/jwt.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstdint>
#include <memory>

#include "base/text.h"

namespace hopgap::remote {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// Without it OpenSSL asks the terminal for the password of an encrypted key.
int NoPassword(char*, int, int, void*) { return 0; }

}  // namespace

std::string Base64Url(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<uint8_t>(bytes[at + i]) : 0u);
    }
    for (size_t i = 0; i <= count; ++i) text += kDigits[(group >> (18 - 6 * i)) & 63];
  }
  return text;
}

absl::StatusOr<std::string> SignJwt(std::string_view header_json, std::string_view claims_json,
                                    const std::string& private_key_pem) {
  const std::unique_ptr<BIO, Free> bio(
      BIO_new_mem_buf(private_key_pem.data(), static_cast<int>(private_key_pem.size())));
  const std::unique_ptr<EVP_PKEY, Free> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (!key || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) {
    return absl::InvalidArgumentError("private_key is no unencrypted RSA key in PEM");
  }
  std::string text = StrCat(Base64Url(header_json), ".", Base64Url(claims_json));
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  size_t size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1) {
    return absl::InternalError("OpenSSL cannot sign with RS256");
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes, text.size()) !=
      1) {
    return absl::InternalError("OpenSSL cannot sign with RS256");
  }
  signature.resize(size);
  return StrCat(text, ".", Base64Url(signature));
}

}  // namespace hopgap::remote
