// Package notify tells the destinations of WORKFLOW.md what happened: a webhook, or a channel of
// Slack, Discord or Teams. It has the closed catalogue of events, makes the message of each kind
// of destination, and sends it. It does not decide what is told and when: that is the runner.
//
// # What a message may hold
//
// Titles, reasons and the text of an agent come from outside. In the message of each kind of
// destination they stand where nothing is parsed, or are escaped: they mention nobody, link to
// nothing, format nothing and command no bot. The text of an agent is a field of its own. Only
// the program's own links are links, and they lead to the issue or its pull request.
//
// # What a destination may do
//
// The address is a secret: no error of this package holds any part of it. A destination has the
// time of the context that [Send] is given, a redirect is not followed, and at most 64 KiB of
// its answer are read, which nobody is shown.
package notify
