package scaffold

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// parseProject returns the slugId in the address of a project of Linear, or the slugId
// itself.
func parseProject(text string) (slug string, ok bool) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "?")
	if _, path, isURL := strings.Cut(text, "/project/"); isURL {
		text, _, _ = strings.Cut(path, "/")
	}
	slug = text[strings.LastIndex(text, "-")+1:]
	return slug, slugID().MatchString(slug)
}

var slugID = lazy.Regexp(`^[A-Za-z0-9]+$`)

// minuteOffset is the minute at which schedules begin: GitHub starts runs late or not at
// all on the full hour.
const minuteOffset = 13

// parseSchedule returns the cron expression of a time between two runs, such as 15m or
// 6h, or of a cron expression; it is empty for none.
func parseSchedule(text string) (cron string, ok bool) {
	text = strings.TrimSpace(text)
	if text == "none" {
		return "", true
	}
	every, err := time.ParseDuration(text)
	switch minutes := int(every / time.Minute); {
	case err != nil:
		fields := strings.Fields(text)
		return strings.Join(fields, " "), isCron(fields)
	case every%time.Minute != 0 || minutes < 5 || minutes > 24*60:
		return "", false
	case minutes < 60 && 60%minutes == 0:
		var at []string
		for m := minuteOffset % minutes; m < 60; m += minutes {
			at = append(at, strconv.Itoa(m))
		}
		return strings.Join(at, ",") + " * * * *", true
	case minutes == 60:
		return fmt.Sprintf("%d * * * *", minuteOffset), true
	case minutes == 24*60:
		return fmt.Sprintf("%d 5 * * *", minuteOffset), true
	case minutes%60 == 0 && 24*60%minutes == 0:
		return fmt.Sprintf("%d */%d * * *", minuteOffset, minutes/60), true
	}
	return "", false
}

// cronLimits holds the least and the greatest number of each field of a cron expression.
var cronLimits = [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}

// isCron reports whether these are the five fields of a cron expression as GitHub takes
// it, without names of months and days.
func isCron(fields []string) bool {
	if len(fields) != len(cronLimits) {
		return false
	}
	for i, field := range fields {
		for part := range strings.SplitSeq(field, ",") {
			of, every, stepped := strings.Cut(part, "/")
			if n, err := strconv.Atoi(every); stepped && (err != nil || n < 1) {
				return false
			}
			if of == "*" {
				continue
			}
			from, to, isRange := strings.Cut(of, "-")
			low, err := strconv.Atoi(from)
			high := low
			if isRange && err == nil {
				high, err = strconv.Atoi(to)
			}
			if err != nil || low < cronLimits[i][0] || high > cronLimits[i][1] || low > high {
				return false
			}
		}
	}
	return true
}
