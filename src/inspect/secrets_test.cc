// Keys that are keys: by their checksum, their form or how random they are. What is written below is made up.
#include <gtest/gtest.h>

#include "inspect/inspect_testing.h"
#include "inspect/secrets.h"

namespace hotcell {
namespace {

using namespace inspect_testing;

// Parts, so that no file of ours looks as if it leaked one.
std::string join(std::string_view a, std::string_view b) { return std::string(a) + std::string(b); }

TEST(Secrets, KnownForms) {
  EXPECT_TRUE(leaks(join("AKIA", "Q3EGRIJ7W5XZ2M4T")));
  EXPECT_TRUE(leaks(join("aws_secret_access_key = ", "wJq8rXUtnFEMIK7MDENGbPxRfiCYzR4kW9sT2vQa")));
  EXPECT_TRUE(leaks(join("xoxb-", "263594206564-2343594206574-FGqddMF8t08v8N7Oq4i57vs1")));
  EXPECT_TRUE(leaks(join("sk_live_", "4eC39HqLyjWDarjtT1zdp7dc")));
  EXPECT_TRUE(leaks(join("AIza", "SyD3kVq9ZpR7tWx2mNbYc8LhJfGsUe1Oi4Q")));
  EXPECT_TRUE(leaks(join("glpat-", "x7Kq9ZpR3tWx2mNbYc8L")));
  EXPECT_TRUE(leaks(join("postgres://app:", "s3cr9Xk2pq@db.internal/x")));
}

TEST(Secrets, TokensOfOtherServices) {
  for (const char* prefix : {"dckr_pat_", "lin_api_", "sq0atp-", "tskey-auth-", "glsa_", "figd_", "gsk_", "pul-"})
    EXPECT_TRUE(leaks(join(prefix, "x7Kq9ZpR3tWx2mNbYc8LhJ4f"))) << prefix;
  EXPECT_TRUE(leaks(join("machine api.example.org login me password ", "8RywkVSRDnptz0mV3")));
  EXPECT_TRUE(leaks(join("redis://:", "OLnv9DS0hQTo93l7@cache:6379/0")));
  EXPECT_TRUE(leaks(join("TWILIO_AUTH_TOKEN=", "b49c12a4b0062983475eb46c5296f62e")));
  // What begins alike and is a name; what is made for tests.
  for (const char* t : {"pul-request-template-for-all-repositories", "figd_documentation_of_the_interface", "gsk_configuration_file_name_here",
                        "stripe.api_key = 'sk_test_4eC39HqLyjWDarjtT1zdp7dc'", "csrf_token=9f86d081884c7d659a2feaa0c55ad015"})
    EXPECT_FALSE(leaks(t)) << t;
}

TEST(Secrets, AKeyIsCalledWhatItIs) {
  for (const char* prefix : {"sk-ant-", "sk-ant-api03-", "sk-ant-x9-"}) {
    auto r = text(join(prefix, "x7Kq9ZpR3tWx2mNbYc8LhJ4fQ1vB6nD0"), only(InspectKind::kSecrets));
    ASSERT_EQ(r.findings.size(), 1u) << prefix;
    EXPECT_NE(r.findings[0].message.find("Anthropic"), std::string::npos) << r.findings[0].message;
  }
  EXPECT_NE(text(join("sk-proj-", "x7Kq9ZpR3tWx2mNbYc8LhJ4fQ1vB6nD0"), only(InspectKind::kSecrets)).findings.at(0).message.find("OpenAI"), std::string::npos);
  EXPECT_FALSE(leaks("sk-ant-colony-optimisation-for-beginners"));
}

TEST(Secrets, CredentialsOfARegistry) {
  EXPECT_TRUE(leaks(join("{\"auths\":{\"https://registry.test/v2/\":{\"auth\":\"", "Ym9iOnIzZ2lzdHJ5LXdvcmQ=\"}}}")));
  for (const char* t : {"{\"auth\":\"c29tZXRoaW5nIGVsc2U=\"}", "{\"auth\":\"authentication\"}", "{\"auth\": \"eW91cl91c2VyOnlvdXJfcGFzc3dvcmQ=\"}",
                        "{\"keys\":{\"auth\":\"tBHItJI5svbpez7KI4CCXg==\"}}"})
    EXPECT_FALSE(leaks(t)) << t;
}

TEST(Secrets, AGitHubTokenHasAChecksum) {
  // The last six are the CRC-32 of the thirty before them.
  auto right = text(join("ghp_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17"), only(InspectKind::kSecrets));
  auto wrong = text(join("ghp_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq11"), only(InspectKind::kSecrets));
  EXPECT_EQ(right.level(), ThreatLevel::kCritical);
  EXPECT_EQ(wrong.level(), ThreatLevel::kMedium);
}

TEST(Secrets, PemNeedsAKeyBehindItsHead) {
  std::string head = join("-----BEGIN RSA ", "PRIVATE KEY-----");
  EXPECT_EQ(text(head + "\nMIIEowIBAAKCAQEAy8Dbv8prpJ/0kKhlGeJYozo2t60EG8L0561g13R29LvMR5hy\n", only(InspectKind::kSecrets)).level(), ThreatLevel::kCritical);
  EXPECT_TRUE(text("grep -q '" + head + "' file && echo found a key in the file", only(InspectKind::kSecrets)).safe());
}

TEST(Secrets, AJwtHasAHeader) {
  EXPECT_TRUE(leaks(join("eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiI3NzEyMyJ9.kd8Wq1ZpR7tWx2mNbYc8LhJfGsUe1Oi4QaVb")));
  EXPECT_FALSE(leaks("eyJub3RfYWhlYWRlciI6MX0.eyJzdWIiOiI3NzEyMyJ9.kd8Wq1ZpR7tWx2mNbYc8LhJfGsUe1Oi4QaVb"));
}

TEST(Secrets, GenericValuesMustLookRandom) {
  EXPECT_TRUE(leaks(join("api_key=", "f3Kq9ZpR7tWx2mNbYc8L")));
  for (const char* innocent : {"api_key=YOUR_API_KEY_GOES_HERE", "password: correcthorsebattery", "token = get_token(request)", "secret=${SECRET}",
                               "API_KEY=xxxxxxxxxxxxxxxxxxxx", "uuid 550e8400-e29b-41d4-a716-446655440000", "token: 550e8400-e29b-41d4-a716-446655440000",
                               "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "AKIAIOSFODNN7EXAMPLE", "The token bucket limits requests"})
    EXPECT_FALSE(leaks(innocent)) << innocent;
}

TEST(Secrets, TheSnippetIsTooShortToUse) {
  std::string key = join("AKIA", "Q3EGRIJ7W5XZ2M4T");
  auto result = text("id " + key, only(InspectKind::kSecrets));
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].offset, 3u);
  EXPECT_EQ(result.findings[0].type, "data_leak");
  EXPECT_LE(result.findings[0].snippet.size(), 15u);
  EXPECT_EQ(inspection_json(result).find(key), std::string::npos);
}

TEST(Secrets, HiddenInHex) { EXPECT_TRUE(leaks("414b49415133454752494a37573558" "5a324d3454")); }

TEST(Entropy, OfRandomAndOfWords) {
  EXPECT_LT(inspect::entropy_of("aaaaaaaaaaaa"), 0.1);
  EXPECT_GT(inspect::entropy_of("f3Kq9ZpR7tWx2mNbYc8L"), 4.0);
}

}  // namespace
}  // namespace hotcell
