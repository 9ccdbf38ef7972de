package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A prompt names a skill as $name, and Codex adds the skill's instructions to the
// turn. A name that it does not know is text to it, and the agent works without
// what the author of the workflow relied on.

// checkSkills warns of the skills that the prompt names and the server does not
// have. It is no more than that: in a prompt a $word may mean anything.
func (s *Session) checkSkills(ctx context.Context) error {
	named := skillMentions(s.o.Prompt)
	if len(named) == 0 {
		return nil
	}
	params := map[string]any{"cwds": []string{s.o.Cwd}}
	err := s.callOptional(ctx, "skills/list", params, func(result json.RawMessage) error {
		has, known := parseSkills(result)
		if missing := slices.DeleteFunc(named, func(name string) bool { return slices.Contains(has, name) }); known && len(missing) > 0 {
			s.warn(missingSkillsWarning(missing, has))
		}
		return nil
	})
	if errors.Is(err, ErrResponseTimeout) {
		return nil // what is at stake is a warning
	}
	return err
}

// parseSkills are the names in an answer to skills/list, but for those switched off.
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
		return nil, false // of another shape
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

func missingSkillsWarning(missing, has []string) string {
	there := "it has none"
	if len(has) > 0 {
		there = "it has " + strings.Join(has, ", ")
	}
	return fmt.Sprintf("Codex does not have what the prompt names as a skill: $%s: put it into .agents/skills of the repository or skills of the Codex home, "+
		"or write it as `code` if it is none; %s", strings.Join(missing, ", $"), there)
}

var (
	skillName = regexp.MustCompile(`^\$[a-z][a-z0-9]+([-:][a-z0-9]+)*$`)
	codeSpan  = regexp.MustCompile("`[^`]*`")
)

// skillMentions are the skills that a prompt names, each once, sorted. What stands
// in code is no mention, nor is what has the shape of a shell's variable and not
// that of a skill: capitals, underscores, braces.
func skillMentions(prompt string) (names []string) {
	fenced := false
	for line := range strings.Lines(prompt) {
		if start := strings.TrimSpace(line); strings.HasPrefix(start, "```") || strings.HasPrefix(start, "~~~") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		for _, word := range strings.Fields(codeSpan.ReplaceAllString(line, " code ")) {
			word = strings.Trim(word, `.,;:!?()[]"'*`)
			if skillName.MatchString(word) {
				names = append(names, word[1:])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
