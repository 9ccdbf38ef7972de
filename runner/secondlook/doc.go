// Package secondlook holds what is asked and answered when a model reads work before people do:
// the prompt, the schema of the answer, and the bounds of what is taken from it. It decides nothing:
// package attempt runs the review ([codex.Session.Review]) and does what the answer says.
//
// The prompt begins with rules, which the workflow may replace (delivery.review_prompt). The issue
// follows as data, and where the work is. The answer is text of a model about text of strangers.
// It can send work back to its author, a few times, and otherwise appears in the pull request; it
// never lets work pass that a check or a rule of the delivery holds back.
package secondlook
