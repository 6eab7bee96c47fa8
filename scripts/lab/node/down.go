package node

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// Down ends the node and removes what it made.
func Down(ctx context.Context, d Dir) error {
	s, err := readState(d)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if s.alive() {
		if err := syscall.Kill(s.Pid, syscall.SIGTERM); err != nil {
			return err
		}
		err := await(ctx, 30*time.Second, "end of the node", func(context.Context) error {
			if s.alive() {
				return errors.New("process 1 is still there")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, dir := range s.Cgroups {
		if err := removeCgroup(dir); err != nil {
			return err
		}
	}
	return os.RemoveAll(d.Run())
}
