package codex

import (
	"context"
	"slices"
)

// TakesImages returns the model of the thread, and whether it takes images, as the server lists
// it. A model of which the server does not say so takes them.
func (s *Session) TakesImages(ctx context.Context) (model string, takes bool) {
	s.mu.Lock()
	model = s.spending.tariffs.model[s.spending.tariffs.main]
	s.mu.Unlock()
	models, err := s.listModels(ctx)
	if err != nil {
		return model, true // the turn shows what is wrong
	}
	for _, m := range models {
		if (m.Model == model || m.ID == model) && len(m.Modalities) > 0 {
			return model, slices.Contains(m.Modalities, "image")
		}
	}
	return model, true
}
