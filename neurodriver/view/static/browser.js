
// In a browser, questions go to the server that sent the page. Its address has the token.
const token = new URLSearchParams(location.search).get("token");
mount(document.getElementById("view"), async (question) => {
  let reply;
  try {
    reply = await fetch("/ask", {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      body: JSON.stringify(question),
    });
  } catch {
    throw new Error("neurodriver has ended; this page shows what came last");
  }
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
});
