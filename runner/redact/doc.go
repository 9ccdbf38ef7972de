// Package redact replaces secrets by "***" in text that leaves the process:
// logs, event logs, reports, state, tool results, errors. cmd makes one
// [Redactor] from every secret the host knows and hands it to whatever writes.
//
// # What is hidden
//
// Known secrets, exactly: as they are, and as a program may spell them — base64
// in both alphabets and at any place in a larger encoded text, percent-encoded,
// escaped as JSON or as a Go string, in hex. Every line of a secret with several
// is a secret too, so a key survives neither indentation nor a quotation of one
// line. Every byte that belongs to a spelling is replaced, also where spellings
// overlap.
//
// Token shapes, by their looks: what GitHub, OpenAI, Anthropic, Linear, Slack,
// AWS, Google and npm hand out, JSON web tokens, private keys in PEM,
// credentials of HTTP's Authorization, user and password in a URL. The table is
// in shape.go. It finds the secret that nobody told us, and leaves prose, hashes,
// UUIDs and paths alone.
//
// What is not found: a secret that was encoded twice, compressed, encrypted, cut
// into pieces, or wrapped by base64 into lines.
//
// # How
//
// A text passes two scans, first for secrets, then for shapes. Both look at each
// byte once, for three bytes that begin something, and look closer only there; a
// closer look is bounded. So the time is linear in the text whatever it holds,
// and a stream is held back only where something may have begun: by the length
// of the longest spelling, or of the longest shape (64 KiB, a PEM block).
//
// # Invariants
//
//   - The result holds no spelling of a known secret.
//   - Redacting a result again changes nothing.
//   - [Writer] writes what [Redactor.String] would make of the whole text, in
//     whatever pieces the text comes.
//   - Text without secrets comes out as it was, without an allocation.
//
// It never logs, and an error it returns never holds the secret it is about.
package redact
