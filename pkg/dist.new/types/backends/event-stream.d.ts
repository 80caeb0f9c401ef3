/** The data of each event in an event stream, in the one-line form that the endpoints send. */
export declare function messages(body: ReadableStream<Uint8Array>): AsyncGenerator<string>;
