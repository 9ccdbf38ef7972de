package codextest

import (
	"fmt"
	"strconv"
	"strings"
)

// turnFailure is the error of a failed turn.
type turnFailure struct {
	Message string
	Info    any // codexErrorInfo: a name, or an object of a name and details
}

func (f *turnFailure) Error() string { return f.Message }

func (f *turnFailure) object() object {
	return object{"message": f.Message, "codexErrorInfo": f.Info, "additionalDetails": nil, "misalignment": nil}
}

// parseFailure reads `usageLimitExceeded` or `httpConnectionFailed 503`.
func parseFailure(s string) (*turnFailure, error) {
	fields := strings.Fields(s)
	message := "the script fails with " + s
	switch len(fields) {
	case 1:
		return &turnFailure{Message: message, Info: fields[0]}, nil
	case 2:
		status, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("%q is not an HTTP status", fields[1])
		}
		return &turnFailure{Message: message, Info: object{fields[0]: object{"httpStatusCode": status}}}, nil
	}
	return nil, fmt.Errorf("%q is not a name, nor a name and an HTTP status", s)
}
