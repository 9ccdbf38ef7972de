package text

import "strings"

// InWords returns a reason for people, without the categories before its sentence, which are
// for logs and scripts. Of "turn: turn_failed: other: no such model" it returns "no such
// model". The subject of the reason may stand before the categories, such as the number of
// failures in a row; it stays.
func InWords(why string) string {
	about, rest := "", why
	for range 3 { // the subject has at most two parts, each ended by a colon
		if cause, found := withoutCategories(rest); found {
			return about + cause
		}
		before, after, more := strings.Cut(rest, ": ")
		if !more {
			break
		}
		about, rest = about+before+": ", after
	}
	return why
}

const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

// withoutCategories returns a text without the categories at its beginning, and reports
// whether there were any. Categories are single words that a colon ends: one is written like
// turn_failed. Any words may stand before that one, and behind it the codes of the agent, such
// as other and usageLimitExceeded.
func withoutCategories(text string) (rest string, found bool) {
	rest = text
	for {
		word, after, more := strings.Cut(rest, ":")
		sentence := strings.TrimLeft(after, " \n")
		if !more || sentence == "" || len(sentence) == len(after) || strings.Trim(word, wordBytes) != "" || word == "" {
			break
		}
		lower := word == strings.ToLower(word)
		isCategory := lower && strings.Contains(word, "_")
		if found && lower && !isCategory && word != "other" {
			break
		}
		rest, found = sentence, found || isCategory
	}
	if !found {
		return text, false
	}
	return rest, true
}
