package workflow

import (
	"slices"
)

// checkSetup records the problems of the section setup that depend on other keys.
func (d *decoder) checkSetup() {
	s := &d.settings
	at, written := d.places["setup"]
	if !written {
		return
	}
	for _, name := range s.Setup.Env {
		if slices.Contains(s.Codex.Env, name) {
			d.reject(d.written["setup.env"], "it names %s, which codex.env gives to the agent as well; remove it from one of them", name)
		}
	}
	switch {
	case s.Setup.Run == "":
		d.warn(at, "setup.run is missing, so nothing is prepared; write the script, such as npm ci")
	case s.Setup.Run != "" && !d.repository.on:
		d.reject(d.written["setup.run"], "prepares a checkout, and there is none: write the section repository, or remove setup")
	}
}
