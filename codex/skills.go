package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// A prompt names a skill as $name, and Codex adds the skill's instructions to the
// turn. Codex treats an unknown name as text, and the agent then works without
// instructions that the author of the workflow relies on.

// checkSkills warns about skills that the prompt names and the server does not have.
// It never fails because of them, as a $word in a prompt can mean something else.
func (s *checks) checkSkills(ctx context.Context) error {
	named := skillMentions(s.o.Prompt)
	if len(named) == 0 {
		return nil
	}
	params := map[string]any{"cwds": []string{s.o.Cwd}}
	err := s.callOptional(ctx, "skills/list", params, func(result json.RawMessage) error {
		has, known := parseSkills(result)
		if missing := slices.DeleteFunc(named, func(name string) bool { return slices.Contains(has, name) }); known && len(missing) > 0 {
			there := "it has none"
			if len(has) > 0 {
				there = "it has " + strings.Join(has, ", ")
			}
			s.warn(fmt.Sprintf("Codex does not have what the prompt names as a skill: $%s: put it into .agents/skills of the repository or skills of the Codex home, "+
				"or write it as `code` if it is none; %s", strings.Join(missing, ", $"), there))
		}
		return nil
	})
	if errors.Is(err, ErrResponseTimeout) {
		return nil // only a warning is lost
	}
	return err
}

// parseSkills returns the names of the enabled skills in an answer to skills/list.
// It reports whether the answer could be read.
func parseSkills(result json.RawMessage) (names []string, known bool) {
	var r struct {
		Data []struct {
			Skills []struct {
				Name    string
				Enabled *bool
			}
		}
	}
	if json.Unmarshal(result, &r) != nil || len(r.Data) == 0 {
		return nil, false
	}
	for _, folder := range r.Data {
		for _, skill := range folder.Skills {
			if skill.Enabled == nil || *skill.Enabled {
				names = append(names, skill.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), true
}

var (
	skillName = lazy.Regexp(`^\$[a-z][a-z0-9]+([-:][a-z0-9]+)*$`)
	codeSpan  = lazy.Regexp("`[^`]*`")
)

// skillMentions returns the skills that a prompt names, sorted and without
// duplicates. It ignores code, and words that look like a shell variable instead of a
// skill because they contain capitals, underscores or braces.
func skillMentions(prompt string) (names []string) {
	if !strings.Contains(prompt, "$") {
		return nil
	}
	fenced := false
	for line := range strings.Lines(prompt) {
		if start := strings.TrimSpace(line); strings.HasPrefix(start, "```") || strings.HasPrefix(start, "~~~") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		for _, word := range strings.Fields(codeSpan().ReplaceAllString(line, " code ")) {
			word = strings.Trim(word, `.,;:!?()[]"'*`)
			if skillName().MatchString(word) {
				names = append(names, word[1:])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
