"""Sentence embeddings from modules made here, a pooling layer, cosine scores, training (sentence-transformers)."""
import torch
from sentence_transformers import SentenceTransformer, losses, models, util
from sentence_transformers.models.tokenizer import WhitespaceTokenizer

torch.manual_seed(0)
sentences = ["a cat sits on the mat", "the dog runs in the park", "a cat and a dog", "birds sing in the trees",
             "the park is green", "mat and tree", "a long sentence about a cat that runs after a bird in the park"]
words = sorted({w for s in sentences for w in s.split()})
tokenizer = WhitespaceTokenizer(vocab=words, stop_words=[], do_lower_case=True)
embedding = models.WordEmbeddings(tokenizer=tokenizer, embedding_weights=torch.randn(len(words), 32).numpy(), update_embeddings=True)
lstm = models.LSTM(word_embedding_dimension=32, hidden_dim=24)
cnn = models.CNN(in_word_embedding_dimension=lstm.get_word_embedding_dimension(), out_channels=16, kernel_sizes=[1, 3])
pooling = models.Pooling(cnn.get_word_embedding_dimension(), pooling_mode_mean_tokens=True, pooling_mode_max_tokens=True)
dense = models.Dense(pooling.get_sentence_embedding_dimension(), 20)
model = SentenceTransformer(modules=[embedding, lstm, cnn, pooling, dense, models.Normalize()], device="cpu")
for size in (2, 3, 7, 1):
    vectors = model.encode(sentences, batch_size=size, convert_to_tensor=True, show_progress_bar=False)
    scores = util.cos_sim(vectors, vectors)
    print(size, tuple(vectors.shape), round(scores.sum().item(), 3), round(scores[0, 2].item(), 4))
hits = util.semantic_search(vectors[:2], vectors, top_k=3)
print([[(hit["corpus_id"], round(hit["score"], 3)) for hit in row] for row in hits])
loss_model = losses.CosineSimilarityLoss(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
model.train()
for step in range(4):
    features = [model.preprocess(sentences[:3]) if hasattr(model, "preprocess") else model.tokenize(sentences[:3]),
                model.preprocess(sentences[3:6]) if hasattr(model, "preprocess") else model.tokenize(sentences[3:6])]
    loss = loss_model(features, torch.tensor([0.9, 0.1, 0.5]))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, round(loss.item(), 4))
model.eval()
print(model.encode(sentences[:2], show_progress_bar=False).sum().round(3))
