// Package redact replaces secrets by "***" in text that leaves the process:
// logs, event logs, reports, state, tool results, errors. cmd makes one
// [Redactor] from every secret the host knows and hands it to whatever writes.
//
// # What is hidden
//
// Known secrets, exactly: as they are, and as a program may encode them (see
// encodings.go): base64 in both alphabets and at any place in a larger encoded
// text, percent-encoded, escaped as JSON or as a Go string, in hex. Every line of
// a secret with several lines is a secret too, so a key survives neither
// indentation nor a quotation of one line. Every byte that belongs to an encoding
// is replaced, also where encodings overlap.
//
// Unknown tokens, found by their patterns: what GitHub, OpenAI, Anthropic,
// Linear, Slack, AWS, Google, npm and a hundred other issuers give out, JSON web tokens,
// private keys in PEM, credentials of HTTP's Authorization header, of .netrc and of Docker,
// user and password in a URL. The tables are in patterns.go and issuers.go, which names
// their source. They leave prose, hashes, UUIDs and paths alone.
//
// [Redactor.Find] returns the places of secrets in a file that is about to be published. It
// also finds a known secret that is broken into lines or columns (broken_lines.go).
//
// What is not found: a secret that was encoded twice, compressed, encrypted, or cut
// into pieces with other text between them; and in a log, one that is broken into lines.
//
// # How
//
// A text passes two scans, first for known secrets, then for patterns. Both skip
// to the next three bytes that a secret may begin with (prefilter.go) and read a
// bounded number of bytes there, so the time is linear in the text.
//
// # Invariants
//
//   - The result holds no encoding of a known secret.
//   - Redacting a result again changes nothing.
//   - Text without secrets is returned as it was, without an allocation.
//
// The package never logs, and an error it returns never holds the secret.
package redact
