/** For hosts whose answers come later: a ticket now, the answer under that ticket another time. */
export declare class Parking<T> {
    #private;
    /** A ticket never given before, and the promise of its answer. */
    park(): {
        ticket: number;
        answer: Promise<T>;
    };
    /** Gives the answer, if it is still awaited. */
    settle(ticket: number, answer: T): void;
    /** Nobody awaits this answer any more. Whether somebody did. */
    leave(ticket: number, reason: unknown): boolean;
    /** No answer will come under any of the tickets that are out. */
    abandon(reason: unknown): void;
}
