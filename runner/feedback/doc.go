// Package feedback decides what people and checks said about an issue that nobody has
// answered. It is pure: its input is what was read from outside, a [World], and what
// earlier runs have left, a [schedule.Conversation].
package feedback
